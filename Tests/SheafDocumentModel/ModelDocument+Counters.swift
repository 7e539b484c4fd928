package import SheafDocument

extension ModelDocument {
    /// A stamp later than all writes.
    private static let last = Stamp(
        HybridTime(milliseconds: HybridTime.maximumMilliseconds, counter: 0), Site(rawValue: 1))

    /// Whether an edit sets a value at or below a visible counter.
    package func hidesCounter(_ edits: [Edit]) -> Bool {
        var changed = self
        for edit in edits {
            if case .set(let path, let value, let mode) = edit,
                changed.hidesCounter(Self.path(path), value, mode)
            {
                return true
            }
            // Values are not applied, so that later edits still see the counter.
            if case .set = edit { continue }
            changed.apply([edit], stamp: Self.last)
        }
        return false
    }

    /// Whether the insertion of a document sets a value at or below a visible counter.
    package func hidesCounter(_ object: Object, differencesOnly: Bool) -> Bool {
        guard isPresent(.map, at: []) else { return false }
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
