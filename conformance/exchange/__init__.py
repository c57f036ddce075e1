"""Cases in files: corpora, failures, DxDispatch models, and judging again what was judged before."""
