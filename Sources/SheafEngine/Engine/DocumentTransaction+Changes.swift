import SheafDocument

/// Edits and insertions of one document.
extension DocumentTransaction {
    mutating func edit(_ position: Int, _ edits: [Edit]) throws(EngineError) -> Bool {
        let stamp = try nextStamp(for: position)
        do throws(DocumentError) {
            if try working[position].applyPlainly(
                edits, at: stamp, catalog.names, in: encodingMemory)
            {
                return true
            }
        } catch {
            throw .document(error)
        }
        let delta = try onDocument { () throws(DocumentError) in
            try working[position].delta(
                edits, at: stamp, catalog.names, keepsCounters: keepsCounters)
        }
        guard let delta else { return false }
        try recordLocalTokens(delta.bytes, at: position)
        try working[position].apply(delta, catalog.names)
        return true
    }

    mutating func insert(
        _ object: Object, _ conflict: DocumentChange.Conflict, _ change: DocumentChange,
        at position: Int
    ) throws(EngineError) -> Bool {
        guard working[position].hasState else {
            let stamp = try nextStamp(for: position)
            let state = try onDocument { () throws(DocumentError) in
                try encodingMemory.document(
                    object, without: IndexKeyBuilder.idName, at: stamp, catalog.names)
            }
            try recordLocalTokens(state.bytes, at: position)
            try working[position].apply(state, catalog.names)
            return true
        }
        var object = object
        object[IndexKeyBuilder.idName] = nil
        let merging = Edit.set(path: [], to: .object(object))
        guard try working[position].exists() else { return try edit(position, [merging]) }
        switch conflict {
        case .fail: throw .exists(collection: change.collection, id: change.id)
        case .doNothing: return false
        case .merge: return try edit(position, [merging])
        case .mergeDifferences:
            let edits = try onDocument { () throws(DocumentError) in
                try working[position].withState { bytes throws(DocumentError) in
                    try Insertion.differences(between: bytes, and: object, catalog.names)
                }
            }
            guard let edits, !edits.isEmpty else { return false }
            return try edit(position, edits)
        }
    }
}
