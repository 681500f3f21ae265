"""The seats of a station, which players claim on their phones. Pure.

`claims` are the seats and the acts of phones, `people` the names, `tokens` the secrets in the codes, and `rate_limit`
limits requests.
"""
