"""The command line: one module a command; this one owns the app, stderr and the exit codes."""
