import SheafBytes
package import SheafDocument

extension DocumentTransaction {
    /// Joins a document with all field names spelled out; returns whether it had new writes.
    package mutating func join(_ bytes: [UInt8], at position: Int) throws(EngineError) -> Bool {
        let (seen, isPartial, own) = try convertErrors { () throws(EditError) in
            try bytes.span.withUnsafeBytes { bytes throws(EditError) in
                let document = try Self.document(bytes)
                do throws(Malformed) {
                    try document.validate(NameTable())
                    return (
                        try document.latestDot(), document.isPartial,
                        (
                            try document.renamed(from: NameTable(), to: catalog.names),
                            try document.header().time(of: clock.site)
                        )
                    )
                } catch {
                    throw .malformed(error)
                }
            }
        } orRefusing: {
            .invalidDocument($0)
        }
        try recordLocalTokens(own.0, at: position)
        checkOwnWrites(own.1, of: position)
        try observe(seen)
        return try working[position].applyIfNew(
            ChangedBytes(bytes: own.0), isPartial: isPartial, catalog.names)
    }

    /// Advances the clock past a received time, unless the time is too far ahead.
    package mutating func observe(_ time: HybridTime) throws(EngineError) {
        do throws(HybridClock.Refusal) { try clock.observe(time, at: now) } catch {
            throw .clock(error)
        }
    }

    /// Returns the number of a collection; adds the collection if it does not exist.
    package mutating func number(ofCollection name: String) throws(EngineError) -> UInt16 {
        if let known = catalog.number(ofCollection: name) { return known }
        return try catalog.add(collection: name)
    }

    /// Whether a document received in this transaction exists.
    package func exists(_ key: DocumentKey) throws(EngineError) -> Bool {
        guard let position = positions[key] else { return false }
        return try working[position].exists()
    }
}
