package import SheafDocument
package import SheafEngine
package import SheafStorage

/// Errors of lower layers as statements and stores report them.
extension StoreError {
    /// Returns the damage that prevents indexes if it may have caused this error, otherwise `self`.
    func orIndexFailure(of snapshot: DocumentSnapshot, _ failure: EngineError?) -> StoreError {
        guard reason == .meaning else { return self }
        do throws(StoreError) { try Self.checkIndexes(failure, of: snapshot) } catch {
            return error
        }
        return self
    }

    /// Throws the damage that prevents the indexes of a snapshot, if it should have some.
    static func checkIndexes(
        _ failure: EngineError?, of snapshot: DocumentSnapshot
    ) throws(StoreError) {
        guard !snapshot.hasUsableIndexes, !snapshot.catalog.indexes.isEmpty, let failure else {
            return
        }
        throw StoreError(failure)
    }

    /// Returns the error with the file and the offset of the damaged document, if they are known.
    package func located(in table: SegmentTable) -> StoreError {
        guard document != 0, document & SnapshotReader.pendingBit == 0 else { return self }
        let position = LogPosition(rawValue: document)
        return StoreError(table.disagreement(at: position, message))
    }

    /// Creates the error of a store from an error of its engine.
    package init(_ error: EngineError) {
        switch error {
        case .storage(let error): self.init(error)
        case .evaluation(let error): self = error
        case .damaged, .document(.malformed): self.init(.damaged, "\(error)")
        case .exists:
            self.init(
                .conflict, "\(error)",
                hint: "ON ID CONFLICT DO UPDATE merges the two, DO NOTHING keeps the old one")
        case .limit("maximumDocumentLength", let value, EncodedDocument.maximumLength):
            self.init(
                .limit,
                "a document may have at most \(EncodedDocument.maximumLength) bytes, and this one "
                    + "would have \(value)",
                hint: "no parameter raises this limit: store large content in an attachment, or in "
                    + "several documents")
        case .limit("maximumDocumentLength", let value, let limit):
            self.init(
                .limit,
                "a document may have at most \(limit) bytes, and this one would have \(value)",
                hint: "the limit is the parameter document_size_hard_limit_bytes")
        case .limit: self.init(.limit, "\(error)")
        case .document(.time): self.init(.failed, "\(error)")
        case .document, .invalidCollection, .invalidIndex, .indexExists, .noIndex:
            self.init(.meaning, "\(error)")
        default: self.init(.failed, "\(error)")
        }
    }

    /// Creates the error of a store from an error of its log.
    package init(_ error: StorageError) {
        self.init(Reason(error), error.description)
    }
}

extension StoreError.Reason {
    package init(_ error: StorageError) {
        switch error {
        case .io: self = .disk
        case .full: self = .full
        case .corrupt: self = .damaged
        case .unsupported: self = .unsupported
        case .locked: self = .inUse
        case .notAStore, .notADirectory, .notEmpty, .removed: self = .notAStore
        case .readOnly: self = .readOnly
        case .limit, .commitsExhausted: self = .limit
        case .closed: self = .closed
        case .refused: self = .conflict
        case .cancelled: self = .cancelled
        case .poisoned, .invalidKey, .noRecordForDelta, .deltaFollows, .closedByItself:
            self = .failed
        }
    }
}
