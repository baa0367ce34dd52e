def description(): return {}
