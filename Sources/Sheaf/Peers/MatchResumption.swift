import SheafBytes
import SheafDocument

/// How far the queries of a subscription are evaluated on one document, after a turn of the loop has ended in
/// between.
///
/// One document may be evaluated in several states, as it was and as it is: each has an entry. Entries exist
/// only from the first interruption on, so that a document that takes one turn costs no checksum.
struct MatchResumption {
    /// What is known of one state.
    enum Progress {
        /// The queries before this one do not match.
        case next(term: Int)
        case done(Bool)
    }

    let key: [UInt8]
    /// By the checksums of the states.
    private var states: [UInt64: Progress] = [:]

    init(_ key: [UInt8]) {
        self.key = key
    }

    subscript(document: EncodedDocument) -> Progress? {
        get { states[XXH3.hash64(document.bytes)] }
        set { states[XXH3.hash64(document.bytes)] = newValue }
    }
}
