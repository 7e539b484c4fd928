import SheafBytes
package import SheafDocument

extension DocumentTransaction {
    /// Joins a document with all field names spelled out; returns whether it had new writes.
    package mutating func join(_ bytes: [UInt8], at position: Int) throws(EngineError) -> Bool {
        let seen: HybridTime
        let isPartial: Bool
        let own: ([UInt8], HybridTime)
        do throws(Malformed) {
            (seen, isPartial, own) = try bytes.span.withUnsafeBytes { bytes throws(Malformed) in
                let document = try EncodedDocument(bytes)
                try document.validate(NameTable())
                return (
                    try document.latestDot(), document.isPartial,
                    (
                        try document.renamed(from: NameTable(), to: catalog.names),
                        try document.header().time(of: clock.site)
                    )
                )
            }
        } catch {
            throw .invalidDocument(error)
        }
        try recordLocalTokens(own.0, at: position)
        checkOwnWrites(own.1, of: position)
        try observe(seen)
        return try working[position].applyIfNew(
            ChangedBytes(bytes: own.0), isPartial: isPartial, catalog.names)
    }

    /// Advances the clock to a received time; throws if the time is too far ahead.
    package mutating func observe(_ time: HybridTime) throws(EngineError) {
        try onDocument { () throws(DocumentError) in
            try clock.observe(time, at: now + aheadAllowance)
        }
    }

    /// Returns the number of a collection; adds the collection if it does not exist.
    package mutating func number(ofCollection name: String) throws(EngineError) -> UInt16 {
        if let known = catalog.number(ofCollection: name) { return known }
        return try catalog.add(collection: name)
    }

    /// Whether a document received in this transaction exists.
    package mutating func exists(_ key: DocumentKey) throws(EngineError) -> Bool {
        guard let position = positions[key] else { return false }
        return try working[position].exists()
    }
}
