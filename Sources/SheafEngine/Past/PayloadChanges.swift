package import SheafBytes
package import SheafDocument

/// The changes of a document that a payload of the log contains.
package struct PayloadChanges {
    package enum Form: String, Sendable {
        case state, tombstone, delta
    }

    package let form: Form
    /// Whether only the version vector of an evicted document is left.
    package let isRemnant: Bool
    /// The paths that were written.
    package private(set) var changed: [[String]] = []
    /// The paths among them with values that are not initial.
    private var stamped: [[String]] = []
    /// The paths below which fields were removed; an empty path is the document.
    package private(set) var removed: [[String]] = []
    /// The latest stamp of what was written.
    package private(set) var stamp: Stamp?

    /// Reads the payload of an operation on a document.
    package init(
        decoding bytes: UnsafeRawBufferPointer, _ names: NameTable
    ) throws(Malformed) {
        let payload = try DocumentPayload(bytes)
        let base = try payload.baseVector()
        isRemnant = payload.state?.isRemnant ?? false
        if let state = payload.state {
            form = try state.exists() ? .state : .tombstone
            if let deletion = try state.deletion(), !base.covers(deletion) { stamp = deletion }
        } else {
            form = .delta
        }
        for document in [payload.state, payload.delta] {
            guard let document else { continue }
            try DotWalk.visit(document, names) { item in
                switch item.kind {
                case .empty: removed.append(item.path)
                case .named, .overrides: break
                case .mark:
                    // A document without fields is a mark alone.
                    guard let written = item.stamp, !base.covers(written) else { return }
                    stamp = max(stamp ?? written, written)
                default:
                    guard let written = item.stamp, !base.covers(written) else { return }
                    changed.append(item.path)
                    if written != .initial { stamped.append(item.path) }
                    stamp = max(stamp ?? written, written)
                }
            }
        }
        if payload.isComplete { removed.append([]) }
        changed = Self.unique(changed)
        removed = Self.unique(removed)
    }

    /// Returns the paths of all changes, without that of the document.
    ///
    /// No version vector covers initial values, so later changes of the document contain them, too.
    package func paths(ofExisting isExisting: Bool) -> [[String]] {
        Self.unique((isExisting ? stamped : changed) + removed).filter { !$0.isEmpty }
    }

    private static func unique(_ paths: [[String]]) -> [[String]] {
        var seen = Set<[UInt8]>()
        return paths.filter { path in
            var key: [UInt8] = []
            for name in path {
                key += name.utf8
                // No name contains this byte.
                key.append(0xFF)
            }
            return seen.insert(key).inserted
        }
    }
}
