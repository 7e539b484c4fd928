/// The effects of events, in order, until they are performed.
struct EffectQueue<Effect> {
    private var effects: [Effect] = []
    /// Number of effects already returned.
    private var returnedCount = 0

    var isEmpty: Bool { returnedCount == effects.count }

    mutating func append(_ effect: Effect) {
        effects.append(effect)
    }

    /// Removes and returns the next effect; performing it may append further ones.
    mutating func next() -> Effect? {
        guard returnedCount < effects.count else {
            if returnedCount > 0 { (effects, returnedCount) = ([], 0) }
            return nil
        }
        returnedCount += 1
        return effects[returnedCount - 1]
    }
}
