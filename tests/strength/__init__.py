"""How strong the suite is: wrong backends on purpose, and what it takes to tell each from a right one.

`mutants` has the backends made by hand, `rule_mutants` those that follow from the registry, `measure` runs them,
`score` and `show` say what came out, `coverage` counts what the cases reach. `python tests/strength` is the command.
"""
