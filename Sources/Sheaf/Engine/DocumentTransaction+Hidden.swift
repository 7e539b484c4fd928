import SheafBytes
import SheafDocument
import SheafSync

/// What a peer with limited rights may write, and what it may read of what is here.
struct WriteRule {
    let writable: SubscriptionMatcher
    let readable: SubscriptionMatcher
    /// Earlier writes of the peer to documents that are hidden from it, by their addresses.
    var shadows: [DocumentAddress: [UInt8]]
}

/// Writes to documents that are hidden from their writer.
extension DocumentTransaction {
    /// Whether a peer may neither read nor write a document here, so that no answer may depend on it.
    func isHidden(_ position: Int, _ rule: WriteRule) throws(EngineError) -> Bool {
        let key = working[position].key
        guard let original = working[position].original, !original.isTombstone,
            !original.isRemnant,
            let number = key.bytes.span.withUnsafeBytes({ StoreKey.collection(ofDocument: $0) }),
            let collection = directory.collectionName(number)
        else { return false }
        for matcher in [rule.readable, rule.writable] {
            let matches = try matcher.matches(
                original, key: key.bytes, in: collection, directory.names, of: self)
            if matches { return false }
        }
        return true
    }

    /// Receives a document as if there were none here but what the peer has written itself; then drops it.
    mutating func receiveHidden(
        _ document: PiledDocument, _ key: DocumentKey, _ rule: WriteRule, at position: Int,
        _ seen: TimeSeen
    ) throws(EngineError) -> Reception {
        let (hidden, tokens) = (working[position], tokens)
        let shadow = rule.shadows[document.address].map {
            StoredDocument($0, stateLength: $0.count, deltaLength: 0, deltaCount: 0)
        }
        working[position] = try WorkingDocument(key, shadow)
        defer { (working[position], self.tokens) = (hidden, tokens) }
        let reception = try receive(document, key, rule.writable, at: position, seen)
        switch reception {
        case .taken:
            return .dropped(shadow: try spelledState(position), isKnown: false, before: shadow)
        case .known:
            return .dropped(shadow: try spelledState(position), isKnown: true, before: shadow)
        default: return reception
        }
    }

    /// Returns a state with all names spelled: names that have got their numbers lately are in no snapshot yet.
    private func spelledState(_ position: Int) throws(EngineError) -> [UInt8]? {
        guard let state = working[position].state else { return nil }
        return try onDocument(working[position].key.bytes) { () throws(Malformed) in
            try state.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try EncodedDocument(bytes).renamed(from: directory.names, to: NameTable())
            }
        }
    }
}
