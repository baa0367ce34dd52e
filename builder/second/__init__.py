"""Games solved once more, by methods that share nothing with the solvers but the rules."""
