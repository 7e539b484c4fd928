import SheafBytes
import SheafDocument

/// Times of documents that come from peers, and the clock that they are held against.
extension DocumentTransaction {
    /// How late a document is by its stamps.
    enum TimeSeen {
        /// All dots may be taken; the latest time that the document has seen, and that may be taken.
        case upTo(HybridTime)
        /// A dot has this time, which may not be taken.
        case ahead(HybridTime)
    }

    /// Returns how late a document is that a peer has sent.
    ///
    /// What counts are its dots: only a dot can win against what others write. A vector may have later times,
    /// of what was replaced since; the clock is not moved by them.
    func timeSeen(
        in document: PiledDocument, _ key: DocumentKey
    ) throws(EngineError) -> TimeSeen {
        try onDocument(key.bytes) { () throws(Malformed) in
            let document = try EncodedDocument(document.bytes)
            let latest = try document.header().latest
            if clock.isAcceptable(latest, at: now) { return .upTo(latest) }
            let dot = try document.latestDot()
            return clock.isAcceptable(dot, at: now) ? .upTo(dot) : .ahead(dot)
        }
    }
}
