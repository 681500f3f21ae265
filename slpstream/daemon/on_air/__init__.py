"""The station on air: chosen by the operator, or by a rule while the operator has chosen none."""
