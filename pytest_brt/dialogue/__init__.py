"""What every conversation with a model shares: prompts, budget, actions, history."""
