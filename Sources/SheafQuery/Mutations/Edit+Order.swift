import SheafDocument

extension [Edit] {
    /// Returns the edits without the values that later edits replace or turn into maps.
    ///
    /// Values within merged objects are removed, too. All edits of a statement have the same stamp,
    /// and among parts with equal stamps such a value would be visible.
    func withoutReplacedValues() -> [Edit] {
        guard count > 1, hasOverlap else { return self }
        let later = AssignedPath()
        var kept: [Edit] = []
        for edit in reversed() {
            if let rest = edit.without(later) { kept.append(rest) }
            later.record(edit)
        }
        return kept.reversed()
    }

    /// Whether the path of one edit is a prefix of the path of another.
    private var hasOverlap: Bool {
        let paths = map(\.path)
        return paths.indices.contains { index in
            paths[(index + 1)...].contains { $0.overlaps(paths[index]) }
        }
    }
}

extension Edit {
    fileprivate var path: [String] {
        switch self {
        case .set(let path, _, _), .unset(let path, _), .increment(let path, _),
            .restart(let path, _), .incrementOlder(let path, _):
            path
        }
    }

    /// Returns the edit without the values that later edits replace; nil if nothing remains.
    fileprivate func without(_ later: AssignedPath) -> Edit? {
        guard case .set(let path, let value, let mode) = self,
            let later = later.descendant(path[...])
        else { return self }
        guard case .object(let object) = value, mode.merges(object), !later.isCounted else {
            return later.replacesValue ? nil : self
        }
        return .set(path: path, to: .object(object.without(later)), as: mode)
    }
}

extension Edit.Mode {
    /// Whether the fields of an object are set one by one.
    fileprivate func merges(_ object: Object) -> Bool {
        switch self {
        case .merging: !object.isAttachmentToken
        case .register, .attachment: false
        }
    }
}

extension Object {
    /// Returns the fields that later edits do not replace.
    fileprivate func without(_ later: AssignedPath) -> Object {
        var kept: [(String, Value)] = []
        for field in self {
            guard let later = later.child(field.name) else {
                kept.append((field.name, field.value))
                continue
            }
            if case .object(let object) = field.value, Edit.Mode.merging.merges(object),
                !later.isCounted
            {
                kept.append((field.name, .object(object.without(later))))
            } else if !later.replacesValue {
                kept.append((field.name, field.value))
            }
        }
        return Object(kept)
    }
}

extension [String] {
    /// Whether one of two paths is a prefix of the other.
    fileprivate func overlaps(_ other: [String]) -> Bool {
        zip(self, other).allSatisfy { $0.isSpelled($1) }
    }
}

/// The effects of later edits at a path and below it.
private final class AssignedPath {
    /// Whether a value or map is set at this path.
    private var isSet = false
    /// Whether a counter is changed at this path, which an earlier object would hide.
    private(set) var isCounted = false
    private var children: [[UInt8]: AssignedPath] = [:]

    /// Whether a value set earlier at this path is no longer visible.
    var replacesValue: Bool { isSet || isCounted || !children.isEmpty }

    func child(_ name: String) -> AssignedPath? { children[Array(name.utf8)] }

    func descendant(_ path: ArraySlice<String>) -> AssignedPath? {
        guard let name = path.first else { return self }
        return child(name)?.descendant(path.dropFirst())
    }

    /// Records the paths that an edit writes; removals take effect regardless of earlier values.
    func record(_ edit: Edit) {
        switch edit {
        case .set(let path, let value, let mode):
            // Values that are too deep are refused when written, so their fields are not recorded.
            let fits = !value.isDeeper(than: Value.maximumDepth)
            made(path).record(fits ? value : .null, mode)
        case .increment(let path, _), .restart(let path, _), .incrementOlder(let path, _):
            made(path).isCounted = true
        case .unset: break
        }
    }

    private func record(_ value: Value, _ mode: Edit.Mode) {
        isSet = true
        guard case .object(let object) = value, mode.merges(object) else { return }
        for field in object { made([field.name]).record(field.value, mode) }
    }

    private func made(_ path: [String]) -> AssignedPath {
        var found = self
        for name in path {
            let name = Array(name.utf8)
            let next = found.children[name] ?? AssignedPath()
            found.children[name] = next
            found = next
        }
        return found
    }
}
