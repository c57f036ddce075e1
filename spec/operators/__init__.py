"""One module an operator; each defines `SPEC`. `spec.registry` finds every module in this folder."""
