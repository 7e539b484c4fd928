import SheafBytes
import SheafDocument
import SheafStorage

/// Rules for the operations of one key (`format-spec/commits.md`), checked newest first.
struct ChainRules {
    private let key: StoreKey
    private let names: NameTable
    /// The last commit that compaction may have changed; up to it, an origin need not come first.
    private let compactedThrough: CommitID
    /// The requirement of the last checked operation on the next older one.
    private var requirement: Requirement?

    private enum Requirement {
        /// A state with this base.
        case state(base: VersionVector)
        case delta(base: VersionVector)
        case payload(UnsafeRawBufferPointer)
    }

    package init(
        of key: UnsafeRawBufferPointer, _ catalog: Catalog, compactedThrough: CommitID
    ) throws(Malformed) {
        guard let stored = StoreKey(key) else {
            throw .invalid("an unknown key", at: 0)
        }
        self.key = stored
        self.compactedThrough = compactedThrough
        names = catalog.names
        if case .index(let collection, _) = stored {
            guard catalog.collections.indices.contains(Int(collection)) else {
                throw .invalid("a collection without a name", at: 1)
            }
        }
        guard case .document(let collection, let id) = stored else { return }
        guard catalog.collections.indices.contains(Int(collection)) else {
            throw .invalid("a collection without a name", at: 1)
        }
        let value = try DocumentID.id(of: id)
        let own: [UInt8]
        do throws(DocumentError) { own = try DocumentID.key(of: value) } catch {
            throw .invalid("\(error)", at: 3)
        }
        guard own == id else { throw .invalid("an id that is not in its canonical form", at: 3) }
    }

    /// Checks the next older operation.
    mutating func check(_ logged: LoggedOperation) throws(Malformed) {
        switch key {
        case .origin: try checkOrigin(logged)
        case .site: _ = try SiteRecord(decoding: logged.operation.payload)
        case .formerSites: _ = try FormerSites(decoding: logged.operation.payload)
        case .pauses(let site): try Self.checkPauses(logged.operation, of: site)
        case .clock: _ = try HybridTime(decoding: logged.operation.payload)
        case .importProgress: try Self.checkImport(logged.operation)
        case .storedShard: try Self.checkStoredShard(logged.operation)
        case .name, .collection: try checkName(logged.operation)
        case .index(let collection, let number):
            try Self.checkIndex(logged.operation, collection, number)
        case .unprovenToken: try Self.checkUnproven(logged.operation)
        case .document: try checkDocument(logged.operation)
        }
    }

    /// Checks that the oldest operation does not need an older one.
    func finish() throws(Malformed) {
        if case .delta = requirement { throw .invalid("a delta without a state", at: 0) }
    }

    private func checkOrigin(_ logged: LoggedOperation) throws(Malformed) {
        _ = try CommitOrigin(decoding: logged.operation.payload)
        let isFirst = logged.operation.distance == Record.headerLength
        guard isFirst || logged.commit <= compactedThrough else {
            throw .invalid("an origin that is not the first operation of its commit", at: 0)
        }
    }

    private mutating func checkName(_ operation: SheafStorage.Operation) throws(Malformed) {
        guard operation.kind == .put else { throw .invalid("a removed name", at: 0) }
        if case .payload(let bytes) = requirement, !bytes.elementsEqual(operation.payload) {
            throw .invalid("a changed name", at: 0)
        }
        requirement = .payload(operation.payload)
    }

    private static func checkIndex(
        _ operation: SheafStorage.Operation, _ collection: UInt16, _ number: UInt16
    ) throws(Malformed) {
        switch operation.kind {
        case .put:
            _ = try IndexDefinition(
                collection: collection, number: number, decoding: operation.payload)
        case .delta: throw .invalid("a delta record of an index", at: 0)
        case .remove: break
        }
    }

    private static func checkPauses(
        _ operation: SheafStorage.Operation, of site: Site
    ) throws(Malformed) {
        guard site != .initial else { throw .invalid("a zero site", at: 1) }
        switch operation.kind {
        case .put:
            var reader = ByteReader(operation.payload)
            guard try !reader.readPauses().isEmpty else {
                throw .invalid("a site without pauses", at: 0)
            }
        case .delta: throw .invalid("a delta record of pauses", at: 0)
        case .remove: break
        }
    }

    private static func checkImport(_ operation: SheafStorage.Operation) throws(Malformed) {
        switch operation.kind {
        case .put: _ = try ImportProgress(decoding: operation.payload)
        case .delta: throw .invalid("a delta record of an import", at: 0)
        case .remove: break
        }
    }

    private static func checkStoredShard(_ operation: SheafStorage.Operation) throws(Malformed) {
        guard operation.kind == .put else {
            throw .invalid("progress in a hub log that is not complete", at: 0)
        }
        _ = try StoredShard(decoding: operation.payload)
    }

    private static func checkUnproven(_ operation: SheafStorage.Operation) throws(Malformed) {
        switch operation.kind {
        case .put: try UnprovenTokens.check(operation.payload)
        case .delta: throw .invalid("a delta record of an unproven token", at: 0)
        case .remove: break
        }
    }

    private mutating func checkDocument(_ operation: SheafStorage.Operation) throws(Malformed) {
        guard operation.kind != .remove else {
            try finish()
            requirement = nil
            return
        }
        let payload = try DocumentPayload(operation.payload)
        guard (payload.state != nil) == (operation.kind == .put) else {
            throw .unexpected(operation.payload[0], at: 0)
        }
        try payload.state?.validate(names)
        try payload.delta?.validate(names)
        let seen = try payload.vector()
        switch requirement {
        case .state(let base), .delta(let base):
            guard base == seen else {
                throw .invalid("a base that is not the preceding version vector", at: 0)
            }
        case .payload, nil: break
        }
        let base = try payload.baseVector()
        requirement = payload.state == nil ? .delta(base: base) : .state(base: base)
    }
}
