"""What the figures mean: questions with their answers, and sentences that rest on them."""
