"""Answers and golds made from a seed number, in Chinese, English, Korean or a mixture: the same seed, the same bytes.

An answer is about 5.5 KB of sentences drawn from a pool, half of them with a JSON block at the end, as research agents
write them. Golds have two contradictions and two sources a question, as the benchmark's have.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from scorer import tables

POOL = 3000
"""Different sentences a language."""
BYTES = 5500
"""The size of an answer that most questions about speed are asked with."""
BATCH = 10_000

OUTCOMES = ("accuracy", "retention", "transfer", "motivation", "engagement", "cognitive_load", "code_quality")
ACTIONS = ("adopt", "pilot", "reject", "insufficient_evidence")
AUTHORS = ("Okafor", "Brandt", "Lindqvist", "Moreau", "Tanaka", "Adeyemi", "Silva", "Novak", "Haddad", "Petrov")


@dataclass(frozen=True)
class Language:
    """What texts are made of: one choice of each part, in order, joined by `gap`. Choices stand between slashes."""

    sentence: tuple[str, ...]
    contradiction: tuple[str, ...]
    """A gold's contradictions: other people's words than the answers'."""
    topic: str
    """What a gold's sources are about."""
    gap: str

    def make(self, parts: tuple[str, ...], chance: random.Random) -> str:
        """Return one text."""
        text = self.gap.join(chance.choice(part.split("/")) for part in parts)
        while "AUTHOR" in text:
            text = text.replace("AUTHOR", chance.choice(AUTHORS), 1)
        return text.replace("YEAR", str(chance.randint(1996, 2024)))


CHINESE = Language(
    sentence=(
        "本研究/另一项追踪调查/多所学校的对照实验/已有综述/课堂观察记录/该地区的试行方案/教师访谈/一项准实验/后续测验/问卷数据",
        "显示/表明/提示/报告/估计/然而怀疑/进一步说明/间接支持/部分支持/尚未回答/认为/记录了/比较了/反复强调/测得",
        "使用智能助手的初学者/低年级学生/编程课程的学习者/写作课的学生/基础较弱的群体/参加小组讨论的同学/独立练习的对照组/乡村学校的孩子",
        "在概念理解上/在期末成绩上/在完成时间方面/对长期保持/对知识的迁移/在课堂参与方面/在认知负荷上/对学习动机/在代码质量上/在求助行为上/在调试步骤里",
        "略有提升/没有明显变化/保持稳定/因任务难度而不同/主要来自教师的指导/受样本规模限制/随时间逐渐减弱/需要更多证据/与先前结论不一致/只在短期内成立",
        "///，样本来自三所学校/，时间跨度约八周/，评分由两位教师完成/，其中Copilot组最为明显/（AUTHOR et al., YEAR）"
        "/，参见AUTHOR与AUTHOR（YEAR）/，这一点仅限于基础任务/，ChatGPT 的版本没有说明",
        "。/。/。/；/！/。\n/。\n\n",
    ),
    contradiction=(
        "部分文献认为/少数实验指出/有学者质疑/跨校数据说明/早期结果暗示",
        "正确率的优势/远迁移的收益/参与度的变化/自我报告的动机/独立编程的水平/记忆的巩固",
        "在复杂题目中消失/与提示方式有关/主要来自教师的经验/仅见于高水平学生/没有明显超过传统做法/只在短期内出现/需要更多证据支持",
    ),
    topic="解释型反馈与答案型反馈的比较/使用智能助手对长期保持的影响/小组讨论与学习动机/自动批改与写作质量/认知负荷与概念理解/翻转课堂与参与度",
    gap="",
)
ENGLISH = Language(
    sentence=(
        "The first trial/A later survey/One district report/The pooled analysis/A small replication/Classroom logs"
        "/An older review",
        "shows/suggests/found/did not show/reports/however questions/supports the claim/leaves open"
        "/contradicts the view",
        "that beginners with an assistant/that weaker students/that writers/that groups without tools"
        "/that pairs at one screen",
        "gained in accuracy/kept their motivation/lost some retention/improved code_quality/needed less completion_time"
        "/showed negative transfer/reported a higher cognitive_load/had null effects on engagement"
        "/asked for help more often",
        "over eight weeks/in the short term only/when the task was hard/with the same teacher"
        "/after the tool was withdrawn"
        "/across the three schools/beyond the training set/under exam conditions",
        "// (see AUTHOR and AUTHOR, YEAR)/ (AUTHOR et al., YEAR)"
        "/, with state-of-the-art tutors/, although the sample was small",
        ". /. /. /; /! /.\n/.\n\n",
    ),
    contradiction=(
        "Some authors doubt/Two cohorts question/Early data weaken the claim of/Few replications confirm",
        "any lasting advantage/gains on open problems/the value of hints/self-reported interest/far transfer",
        "once novelty wears off/for advanced learners/without guidance/in larger samples/on delayed quizzes",
    ),
    topic="explanatory feedback against answers/assistants and independent problem solving/group work and far transfer"
    "/automatic marking of essays/prompting and debugging skills/flipped lessons and engagement",
    gap=" ",
)
KOREAN = Language(
    sentence=(
        "이번 연구는/후속 조사는/세 학교의 비교 실험은/기존 문헌은/수업 관찰 기록은/교사 면담은",
        "보조 도구를 쓴 학생이/저학년 학습자가/프로그래밍 수업의 초보자가/대조 집단이/농촌 학교의 학생이",
        "개념 이해에서/기말 성적에서/과제 완료 시간에서/장기 기억에서/학습 동기에서/Copilot 조건에서",
        "조금 나아졌다고 보고한다/차이가 없었다고 밝힌다/그러나 유의한 차이는 없었다고 한다/오히려 낮아졌다고 한다"
        "/however 결과가 일정하지 않았다고 한다/더 많은 증거가 필요하다고 본다",
        "//(AUTHOR, YEAR)/2023년 자료를 썼다/표본은 작았다",
        ". /. /! /; /.\n",
    ),
    contradiction=(
        "일부 논문은/초기 자료는/몇몇 학자는",
        "정확도의 이점이/먼 전이의 이득이/참여도의 변화가",
        "복잡한 문제에서 사라진다고 본다/지도 방식에 달렸다고 말한다/표본이 커지면 약해진다고 적었다",
    ),
    topic="설명형 피드백의 효과/보조 도구와 독립 문제 해결/협동 학습과 전이/자동 채점과 글쓰기/디버깅 능력/거꾸로 수업",
    gap=" ",
)
LANGUAGES = {"chinese": (CHINESE,), "english": (ENGLISH,), "korean": (KOREAN,), "mixed": (CHINESE, ENGLISH, KOREAN)}


class Corpus:
    """One corpus: `golds` at once, `batches` of attempts as they are asked for."""

    def __init__(self, language: str, answers: int, questions: int = 30, size: int = BYTES, seed: int = 1) -> None:
        self.answers, self.questions, self.size, self.seed = answers, questions, size, seed
        chance = random.Random(f"{seed} {language} pool")
        self.languages = LANGUAGES[language]
        self.pools = [[each.make(each.sentence, chance) for _ in range(POOL)] for each in self.languages]
        self.lengths = [sum(len(text.encode()) for text in pool) / POOL for pool in self.pools]

    def golds(self, run_id: str = "bench") -> pl.DataFrame:
        """Return the table golds."""
        chance = random.Random(f"{self.seed} golds")
        rows = [row for number in range(self.questions) for row in self._gold(number, chance)]
        frame = pl.DataFrame(rows, schema=["task_id", "field", "position", "value"], orient="row")
        return frame.select(pl.lit(run_id).alias("run_id"), "task_id", "field", "position", "value")

    def batches(self, run_id: str = "bench") -> Iterator[pl.DataFrame]:
        """Yield the table attempts, BATCH rows at a time."""
        for first in range(0, self.answers, BATCH):
            chance = random.Random(f"{self.seed} {first}")
            rows = [
                {
                    "run_id": run_id,
                    "attempt_id": f"A{number:07d}",
                    "task_id": f"Q{number % self.questions:06d}",
                    "system": ("plain", "tools", "agent")[number // self.questions % 3],
                    "repeat": number // self.questions // 3 + 1,
                    "status": "completed",
                    "response": self._answer(number, chance),
                    "input_hash": f"{number:064x}",
                }
                for number in range(first, min(first + BATCH, self.answers))
            ]
            yield pl.DataFrame(rows, schema=tables.ATTEMPTS.schema)

    def _gold(self, number: int, chance: random.Random) -> list[tuple[str, str, int, str]]:
        task = f"Q{number:06d}"
        language = self.languages[number % len(self.languages)]
        topics = language.topic.split("/")
        first, second = chance.sample(AUTHORS, 2)
        fields = {
            "id": [task],
            "known_contradictions": [language.make(language.contradiction, chance) for _ in range(2)],
            "key_supporting_sources": [
                f"{first} et al. ({chance.randint(1996, 2024)}) {chance.choice(topics)}",
                f"{chance.choice(topics)} {second}",
            ],
            "correct_outcome_types": chance.sample(OUTCOMES, chance.randint(1, 3)),
            "expected_decision_range": chance.sample(ACTIONS, chance.randint(1, 2)),
        }
        return [(task, field, at, value) for field, values in fields.items() for at, value in enumerate(values)]

    def _answer(self, number: int, chance: random.Random) -> str:
        pool = self.pools[number % len(self.pools)]
        length = self.lengths[number % len(self.pools)]
        block = _block(pool, chance) if chance.random() < 0.5 else ""
        return "".join(chance.choices(pool, k=max(1, round((self.size - len(block.encode())) / length)))) + block


def _block(pool: list[str], chance: random.Random) -> str:
    """A JSON block as agents write it: mostly fenced, mostly unescaped, half of them indented."""
    picked = [text.strip() for text in chance.choices(pool, k=14)]
    content = {
        "claims": [
            {"claim": text, "outcome_type": chance.choice(OUTCOMES), "direction": "support", "source": source}
            for text, source in zip(picked[:4], picked[4:8], strict=True)
        ],
        "contradictions": picked[8:12],
        "scope": {"can_claim": [picked[12]], "cannot_claim": [picked[13]]},
        "recommended_action": chance.choice(ACTIONS),
    }
    text = json.dumps(content, ensure_ascii=chance.random() < 0.05, indent=chance.choice((None, 2)))
    return f"\n```json\n{text}\n```\n" if chance.random() < 0.8 else f"\n{text}\n"
