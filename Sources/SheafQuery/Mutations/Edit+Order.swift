import SheafDocument

extension [Edit] {
    /// Removes each value that a later edit replaces or turns into a map.
    ///
    /// All edits of a statement have one stamp, and of equally new parts the value shows.
    func withoutReplacedValues() -> [Edit] {
        guard count > 1 else { return self }
        let isReplaced = indices.map { index in
            guard case .set(let path, let value, let mode) = self[index],
                mode == .register || value.kind != .object
            else { return false }
            return self[(index + 1)...].contains { $0.replacesValue(at: path) }
        }
        guard isReplaced.contains(true) else { return self }
        return zip(self, isReplaced).compactMap { $1 ? nil : $0 }
    }
}

extension Edit {
    /// Whether it sets the value at a path, or writes below it.
    fileprivate func replacesValue(at other: [String]) -> Bool {
        switch self {
        case .set(let path, _, _): path.isSpelled(beginningWith: other)
        case .increment(let path, _), .restart(let path, _), .incrementOlder(let path, _):
            path.count > other.count && path.isSpelled(beginningWith: other)
        case .unset: false
        }
    }
}

extension [String] {
    fileprivate func isSpelled(beginningWith other: [String]) -> Bool {
        count >= other.count && zip(self, other).allSatisfy { $0.isSpelled($1) }
    }
}
