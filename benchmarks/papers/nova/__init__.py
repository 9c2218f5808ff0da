"""Methods and studies that only the reproduction of NOVA needs."""
