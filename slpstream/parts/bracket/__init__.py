"""Brackets: reads their sets, and reports the results of the stations to them, each set once.

`interface` is the interface of a bracket, `kinds` finds one by name, `startgg` and `webhook` implement it. `played`,
`matching` and `queue` are pure: the content of a set message, its set of the bracket, and the states of its report.
`desk` runs them. `configured` is the running part.
"""
