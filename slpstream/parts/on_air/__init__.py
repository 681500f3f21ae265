"""The choice of the station on air: by the operator, or by a rule while the operator has chosen none."""
