import SheafBytes
package import SheafDocument

/// Timestamps of received documents, compared with the clock.
extension DocumentTransaction {
    /// The latest timestamp of a received document.
    package enum ReceivedTime {
        /// All dots are acceptable, and the clock may advance to this time.
        case acceptable(HybridTime)
        /// A dot has this time, which is too far ahead of the clock.
        case tooFarAhead(HybridTime)
    }

    /// Returns the latest timestamp of a document that a peer has sent.
    ///
    /// Only a dot can be too far ahead, because only a dot can win against other writes. A version
    /// vector can have later times, of values replaced since; they do not advance the clock if they
    /// are too far ahead.
    package func receivedTime(
        in document: BufferedDocument, _ key: DocumentKey
    ) throws(EngineError) -> ReceivedTime {
        try onDocument(key.bytes) { () throws(Malformed) in
            let document = try EncodedDocument(document.bytes)
            let latest = try document.header().latest
            let now = now + aheadAllowance
            if clock.isAcceptable(latest, at: now) { return .acceptable(latest) }
            let dot = try document.latestDot()
            return clock.isAcceptable(dot, at: now) ? .acceptable(dot) : .tooFarAhead(dot)
        }
    }
}
