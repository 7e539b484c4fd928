package import SheafDocument

extension ModelDocument {
    /// A stamp after those of all writes.
    private static let last = Stamp(
        HybridTime(milliseconds: HybridTime.maximumMilliseconds, counter: 0), Site(rawValue: 1))

    /// Whether one of some edits sets a value where a counter shows, or a field below one.
    package func hidesCounter(_ edits: [Edit]) -> Bool {
        var changed = self
        for edit in edits {
            if case .set(let path, let value, let mode) = edit,
                changed.hidesCounter(Self.path(path), value, mode)
            {
                return true
            }
            // A value does not count as hiding a counter from the values after it.
            if case .set = edit { continue }
            changed.apply([edit], stamp: Self.last)
        }
        return false
    }

    /// Whether inserting a document sets a value where a counter shows.
    package func hidesCounter(_ object: Object, differencesOnly: Bool) -> Bool {
        guard isThere(.map, at: []) else { return false }
        return hidesCounter(
            differencesOnly ? differences(object, at: []) : [.set(path: [], to: .object(object))])
    }

    private func hidesCounter(_ path: Path, _ value: Value, _ mode: Edit.Mode) -> Bool {
        for length in 0...path.count {
            let part = shownPart(at: Array(path.prefix(length)))
            if part == .counter || part == .olderCounter { return true }
            guard part == .map else { return false }
        }
        guard case .object(let object) = value, case .merging = mode else { return false }
        return object.contains {
            hidesCounter(path + [Array($0.name.utf8)], $0.value, mode)
        }
    }
}
