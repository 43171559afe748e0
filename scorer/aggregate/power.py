"""How many questions and repeats it takes to see a difference, and what difference given data could have shown.

Numbers of questions come back as the formulas give them, not rounded; a plan rounds them up.
"""

from __future__ import annotations

import math

from scorer import tails
from scorer.errors import UsageError

ALPHA = 0.05
"""Level of the two-sided test, unless said."""
POWER = 0.8
"""Chance to find a difference that is there, unless said."""


def questions_for_effect(effect: float, *, alpha: float = ALPHA, power: float = POWER) -> float:
    """Return the questions at which the two-sided paired t test finds a true `effect` with the given power.

    `effect` is d_z, the mean difference over the standard deviation of the questions' differences; its sign does not
    matter. Exact, by the non-central t distribution; at least 2. Raises UsageError where `effect` is 0 or a level is
    not between 0 and 1.
    """
    from scipy.optimize import brentq  # noqa: PLC0415

    check_levels(alpha, power)
    check_difference(effect)
    effect = abs(effect)
    enough = 2.0
    while tails.t_power(effect, enough, alpha) < power:
        enough *= 2
    if enough == 2.0:
        return enough
    return float(brentq(lambda n: tails.t_power(effect, n, alpha) - power, enough / 2, enough))


def detectable_effect(n_questions: float, *, alpha: float = ALPHA, power: float = POWER) -> float:
    """Return the smallest d_z that `n_questions` show: `questions_for_effect` turned round; NaN below 2 questions."""
    check_levels(alpha, power)
    return float(tails.detectable_effect(n_questions, alpha, power))


def variance_of_difference(
    var_questions: float, var_repeats_a: float, var_repeats_b: float, repeats_a: float, repeats_b: float
) -> float:
    """Return the variance of one question's difference between two systems, each averaged over its repeats.

    `var_questions` is the variance over questions of the true difference, `var_repeats_a` and `var_repeats_b` the mean
    variance of a system's repeats of one question (Miller 2024). All in squared units of the metric.
    """
    return var_questions + var_repeats_a / repeats_a + var_repeats_b / repeats_b


def questions_for_difference(
    difference: float, variance: float, *, alpha: float = ALPHA, power: float = POWER
) -> float:
    """Return Miller's number of questions, (z_{alpha/2} + z_beta)^2 * variance / difference^2 (normal approximation).

    `variance` is of one question's difference, as `variance_of_difference` gives it.
    """
    check_levels(alpha, power)
    check_difference(difference)
    return (_z(1 - alpha / 2) + _z(power)) ** 2 * variance / difference**2


def detectable_difference(n_questions: float, variance: float, *, alpha: float = ALPHA, power: float = POWER) -> float:
    """Return the difference that `n_questions` show (normal approximation), in the units of the metric."""
    check_levels(alpha, power)
    return (_z(1 - alpha / 2) + _z(power)) * math.sqrt(variance / n_questions)


def relative_variance(var_between: float, var_within: float, repeats: float) -> float:
    """Return the variance of a system's mean with `repeats` a question, relative to one repeat, at equal questions."""
    return (var_between + var_within / repeats) / (var_between + var_within)


def tasks_for_mcnemar(
    a_only: float, b_only: float, *, alpha: float = ALPHA, power: float = POWER, two_sided: bool = True
) -> float:
    """Return the tasks that McNemar's test needs, (z_a sqrt(psi) + z_b sqrt(psi - delta^2))^2 / delta^2 (Connor 1987).

    `a_only` and `b_only` are the shares of tasks that only one of the two systems passes; psi is their sum, delta their
    difference. Raises UsageError where they are equal or no shares.
    """
    check_levels(alpha, power)
    if min(a_only, b_only) < 0 or a_only + b_only > 1:
        raise UsageError(f"shares of tasks lie between 0 and 1 together; {a_only:g} and {b_only:g} do not")
    if a_only == b_only:
        raise UsageError("no number of tasks tells systems apart that differ equally often in both directions")
    psi, delta = a_only + b_only, b_only - a_only
    z_alpha = _z(1 - alpha / 2 if two_sided else 1 - alpha)
    return (z_alpha * math.sqrt(psi) + _z(power) * math.sqrt(psi - delta**2)) ** 2 / delta**2


def detectable_pass_difference(
    n_tasks: float, discordant: float, *, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """Return the difference of pass rates that McNemar's test shows with `n_tasks`; None where it shows none.

    `discordant` is the share of tasks that only one of the two systems passes: the difference cannot exceed it. This
    is `tasks_for_mcnemar` solved for delta, a quadratic equation.
    """
    check_levels(alpha, power)
    z_alpha, z_beta = _z(1 - alpha / 2), _z(power)
    if discordant == 0 or n_tasks < z_alpha**2:
        return None
    root = z_alpha * math.sqrt(n_tasks) + z_beta * math.sqrt(n_tasks - z_alpha**2 + z_beta**2)
    delta = math.sqrt(discordant) * root / (n_tasks + z_beta**2)
    return min(delta, discordant) if delta <= discordant * (1 + 1e-9) else None


def _z(p: float) -> float:
    return float(tails.normal_quantile(p))


def check_difference(difference: float) -> None:
    """Raise UsageError for a difference of 0."""
    if difference == 0:
        raise UsageError("no number of questions shows a difference of 0; give the smallest difference that matters")


def check_levels(alpha: float, power: float) -> None:
    """Raise UsageError unless 0 < alpha < power < 1."""
    if not 0 < alpha < 1:
        raise UsageError(f"alpha is {alpha:g}; it lies between 0 and 1, and is usually {ALPHA:g}")
    if not alpha < power < 1:
        raise UsageError(f"power is {power:g}; it lies between alpha ({alpha:g}) and 1, and is usually {POWER:g}")
