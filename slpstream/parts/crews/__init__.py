"""The fields of crew battles in the set panel of the dashboard. The core keeps the score of crew battles."""
