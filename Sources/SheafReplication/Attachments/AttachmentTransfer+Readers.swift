import SheafAttachments
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSync

/// The rights of peers to read attachments, which follow from the documents that reference them.
///
/// One scan finds these documents for all peers. Its frequency is limited, and so is the number of
/// documents that are examined at once.
extension AttachmentTransfer {
    /// Schedules a check of whether a peer may read an attachment, at most once per second.
    mutating func checkSoon(_ id: AttachmentID, by number: UInt64) {
        self[number].unchecked.insert(id)
        guard self[number].checkAt == nil else { return }
        self[number].checkAt = max(now, self[number].checkedAt &+ Self.checkNanoseconds)
    }

    /// The attachments of which a peer is not known to be able to read a document.
    func unread(by number: UInt64) -> Set<AttachmentID> {
        var wanted = Set(self[number].sought.filter { !$0.value.mayRead }.keys)
        if self[number].access.needsProofs {
            wanted.formUnion(self[number].checks.map(\.id))
            wanted.formUnion(order.filter { !self[number].readable.contains($0) })
        }
        return wanted
    }

    /// Checks the rights of peers whose time has come; the rest is due at once.
    mutating func checkReaders() {
        checkDue()
        if scanIfDue() { checkDue() }
        scanCommonIfDue()
    }

    private mutating func checkDue() {
        var room = Self.checkedDocuments
        for _ in 0..<active.count where room > 0 && !active.isEmpty {
            let number = nextActive(after: lastCheckedConnection) ?? active[0]
            lastCheckedConnection = number
            check(number, &room)
        }
    }

    /// Checks the attachments of a peer; `room` is reduced by the number of examined documents.
    private mutating func check(_ number: UInt64, _ room: inout Int) {
        guard let time = self[number].checkAt, time <= now else { return }
        (self[number].checkAt, self[number].checkedAt) = (nil, now)
        let unread = unread(by: number)
        let ids = self[number].unchecked.intersection(unread)
        self[number].unchecked = ids
        for id in ids.sorted(by: Self.precedes) {
            guard room > 0 else {
                self[number].checkAt = now
                return
            }
            self[number].unchecked.remove(id)
            guard references.covers(id) else {
                self[number].unscanned.insert(id)
                scans.request(at: now, pause: pause)
                continue
            }
            switch access(of: number, to: id, &room) {
            case .granted: grant(id, to: number)
            case .refused: break
            case .unknown:
                self[number].uncertain.insert(id)
                commonScans.request(at: now, pause: pause)
            }
        }
    }

    private mutating func grant(_ id: AttachmentID, to number: UInt64) {
        self[number].sought[id]?.mayRead = true
        if self[number].check(of: id) != nil { prove(id, by: number) }
        if self[number].access.needsProofs, wanted[id] != nil { self[number].readable.insert(id) }
        offer(id, to: number)
        review(id)
    }

    // MARK: Documents

    private enum Access { case granted, refused, unknown }

    private mutating func access(
        of number: UInt64, to id: AttachmentID, _ room: inout Int
    ) -> Access {
        var isNamed = references.isIncomplete
        for key in references.keys(referencing: id) {
            room -= 1
            do throws(EngineError) {
                guard let (document, _) = try snapshot.references(in: key, among: [id]) else {
                    continue
                }
                isNamed = true
                if try mayRead(id, document, key, by: number) { return .granted }
            } catch {
                // An unreadable document grants nothing.
                isNamed = true
            }
        }
        if references.common.contains(id) { return .unknown }
        // Without rules for the peer, only scopes restrict it, and they apply only to named
        // attachments.
        let access = self[number].access
        return access.readable == nil && access.sendable == nil && !isNamed ? .granted : .refused
    }

    /// Whether a peer may read an attachment because of a document; otherwise requests its proof.
    private mutating func mayRead(
        _ id: AttachmentID, _ document: StoredDocument, _ key: [UInt8], by number: UInt64
    ) throws(EngineError) -> Bool {
        let snapshot = snapshot
        guard let address = snapshot.address(of: key),
            try self[number].access.maySend(document, before: nil, key, address, snapshot.names)
        else { return false }
        guard self[number].access.needsProofs,
            snapshot.proven([id], inDocument: key).isEmpty
        else { return true }
        requestProof(of: id, in: address)
        return false
    }

    // MARK: Scans

    /// Time between two scans, ten times as long as one takes in which few documents have tokens.
    private var pause: UInt64 {
        let count = snapshot.log.tree.count(in: StoreKey.documents)
        return min(UInt64(count) * Self.scanNanosecondsPerDocument, Self.longestScanNanoseconds)
    }

    /// Finds the documents that reference attachments, if it is time; returns whether it did.
    private mutating func scanIfDue() -> Bool {
        guard scans.beginIfDue(at: now) else { return false }
        references.scan(for: attachmentsToScan(), in: snapshot)
        for number in active where !self[number].unscanned.isEmpty {
            let found = self[number].unscanned.filter(references.covers)
            self[number].unscanned.subtract(found)
            if !self[number].unscanned.isEmpty { scans.request(at: now, pause: pause) }
            guard !found.isEmpty else { continue }
            self[number].unchecked.formUnion(found)
            self[number].checkAt = now
        }
        return true
    }

    /// Returns the attachments of peers that wait for a scan, in turns, and then those of others.
    private mutating func attachmentsToScan() -> Set<AttachmentID> {
        let limit = ReferencingDocuments.maximumAttachments
        var found: Set<AttachmentID> = []
        for _ in active where found.count < limit {
            let number = nextActive(after: scans.lastConnection) ?? active[0]
            let ids = self[number].unscanned.intersection(unread(by: number))
            self[number].unscanned = ids
            guard found.isEmpty || found.union(ids).count <= limit else { break }
            scans.lastConnection = number
            found.formUnion(ids)
        }
        for id in order where found.count < limit { found.insert(id) }
        for number in active where found.count < limit {
            for id in unread(by: number).sorted(by: Self.precedes) where found.count < limit {
                found.insert(id)
            }
        }
        return found
    }

    /// Examines all documents of common attachments for one peer, if it is time.
    private mutating func scanCommonIfDue() {
        guard commonScans.beginIfDue(at: now) else { return }
        for _ in active {
            let number = nextActive(after: commonScans.lastConnection) ?? active[0]
            commonScans.lastConnection = number
            let ids = self[number].uncertain.intersection(unread(by: number))
            self[number].uncertain = []
            guard !ids.isEmpty else { continue }
            scanAll(for: ids, of: number)
            if active.contains(where: { !self[$0].uncertain.isEmpty }) {
                commonScans.request(at: now, pause: pause)
            }
            return
        }
    }

    private mutating func scanAll(for wanted: Set<AttachmentID>, of number: UInt64) {
        var readable: Set<AttachmentID> = []
        let snapshot = snapshot
        _ = snapshot.forEachReadable(referencing: wanted) { key, document, ids in
            for id in ids.subtracting(readable).sorted(by: Self.precedes) {
                if (try? mayRead(id, document, key, by: number)) == true { readable.insert(id) }
            }
            return readable.count < wanted.count
        }
        for id in readable.sorted(by: Self.precedes) { grant(id, to: number) }
    }

    /// The order of attachments wherever it decides what is sent.
    static func precedes(_ a: AttachmentID, _ b: AttachmentID) -> Bool {
        a.bytes.lexicographicallyPrecedes(b.bytes)
    }
}
