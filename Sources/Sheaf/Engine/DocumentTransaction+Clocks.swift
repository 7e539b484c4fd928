import SheafBytes
import SheafDocument

/// Timestamps of received documents, compared with the clock.
extension DocumentTransaction {
    /// The latest timestamp of a received document.
    enum TimeSeen {
        /// All dots are acceptable, and the clock may advance to this time.
        case upTo(HybridTime)
        /// A dot has this time, which is too far ahead of the clock.
        case ahead(HybridTime)
    }

    /// Returns the latest timestamp of a document that a peer has sent.
    ///
    /// Only dots count, because only a dot can win against other writes. A version vector can have
    /// later times, of values replaced since; they do not advance the clock if they are too far
    /// ahead.
    func timeSeen(
        in document: BufferedDocument, _ key: DocumentKey
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
