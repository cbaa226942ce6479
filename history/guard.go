package history

// Fenced tells whether a guard goes by fencing tokens.
func Fenced(guard string) bool {
	switch guard {
	case GuardFence, GuardFenceRead, GuardFenceGreater, GuardFenceGreaterOrEqual:
		return true
	}
	return false
}
