"""One invocation: its plan, and its attempts, repairs and rows as memoised futures."""
