"""The seats of the stations, which players claim on their phones.

`claims` are the seats and the acts of phones, `people` the names, `tokens` the secrets in the codes, and `rate_limit`
limits requests. `seats` keeps the claims and the sets of the stations in step, `offered_people` are the names that
phones offer, `station_codes` are the codes that lead phones to a station, and `key_file` keeps the secret of the codes.
`phone_api` and `code_api` are the HTTP endpoints.
"""
