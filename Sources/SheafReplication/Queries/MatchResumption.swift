import SheafBytes
import SheafDocument

/// The progress of evaluating the queries of a subscription on one document, across slices.
///
/// Each evaluated state of the document, former or current, has an entry. Entries are made only
/// after the first interruption, so that a document evaluated in one slice costs no checksum.
struct MatchResumption {
    /// The progress of one state.
    enum Progress {
        /// No query before `term` matches.
        case next(term: Int)
        case done(Bool)
    }

    package let key: [UInt8]
    /// The progress of each state, by the checksum of the state.
    private var states: [UInt64: Progress] = [:]

    package init(_ key: [UInt8]) {
        self.key = key
    }

    package subscript(document: EncodedDocument) -> Progress? {
        get { states[XXH3.hash64(document.bytes)] }
        set { states[XXH3.hash64(document.bytes)] = newValue }
    }
}
