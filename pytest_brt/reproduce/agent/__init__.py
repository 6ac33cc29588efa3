"""The agents that write tests: the paper's, and the one of `auto`."""
