"""The ways in which tests are made with a model."""
