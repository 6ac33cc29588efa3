"""BRT Agent: a model looks around, writes a test, runs it, and says when it is done (paper 001)."""
