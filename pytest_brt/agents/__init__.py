"""Agents: models that call tools, one per step, until they finish. An agent is data."""
