import SheafBytes
import SheafDocument
import SheafSync

extension SyncProbe {
    /// Passes frames with valid checksums to a session.
    ///
    /// Each frame in the input has a type, a two-byte length and a body. The session has a host
    /// that responds to its requests. No input may hang it or trap.
    static func readSession(_ bytes: UnsafeRawBufferPointer) throws -> String? {
        let database = Hello.DatabaseID(low: 1, high: 2)
        func hello(_ number: UInt8) -> Hello {
            Hello(
                database: database, peerKey: Array(repeating: number, count: 32),
                site: Site(rawValue: UInt64(number)), log: database, nonce: 1, wallMilliseconds: 1,
                isServer: false,
                name: "")
        }
        var session = SyncSession(hello(1), at: 0)
        var other = FrameWriter()
        var host = SessionDriver()
        host.send(other.bytes(of: Frame(.hello, hello(2).bytes)), to: &session)
        session.subscribe(
            Subscribe(
                generation: 1, [SubscribedQuery(text: "SELECT * FROM c", arguments: [])], at: 0))
        var reader = ByteReader(bytes)
        while reader.remaining >= 3, session.isOpen {
            let type = FrameType(rawValue: try reader.readUInt8()) ?? .segment
            let length = Int(try reader.readUInt16())
            let body = Array(try reader.readBytes(min(length, reader.remaining)))
            host.send(other.bytes(of: Frame(type, body)), to: &session)
            if let wrong = host.wrong { return wrong }
        }
        return nil
    }
}

/// A host that handles the effects of a session as a replicator would.
private struct SessionDriver {
    private var time: UInt64 = 0
    private var steps = 0
    private(set) var wrong: String?

    private static let list = VersionList(
        sorted: (0..<40).map { number in
            DocumentVersion(
                id: DocumentAddress(collection: "c", id: [64, UInt8(number)]).bytes,
                version: UInt64(number))
        })

    mutating func send(_ bytes: [UInt8], to session: inout SyncSession) {
        time += 1_000_000
        bytes.span.withUnsafeBytes { session.receive($0, at: time) }
        var rounds = 0
        while true {
            let effects = session.drainEffects()
            if effects.isEmpty { return }
            rounds += 1
            guard rounds < 1_000 else {
                wrong = "a session produces effects endlessly"
                return
            }
            for effect in effects { answer(effect, &session) }
            if let part = session.nextServed { session.serve(part.number > 0 ? [1] : nil) }
        }
    }

    private mutating func answer(_ effect: SyncSession.Effect, _ session: inout SyncSession) {
        switch effect {
        case .announced(let message):
            if message.commit % 2 == 0 {
                session.acknowledge(commit: message.commit, of: message.generation)
            } else {
                session.announceOnly()
            }
        case .announceOnly: session.announce([], of: 8)
        case .proven: break
        case .proofAsked(let token): session.confirm(token)
        case .listOwn: session.compare(with: Self.list)
        case .apply(let step):
            steps += 1
            session.grant(step.length)
            session.acknowledge(commit: step.commit, of: step.generation)
        case .subscribed(let request):
            if request.cursor != nil, request.generation % 2 == 0 { session.restart() }
        case .listMatches:
            do throws(WireError) { try session.sendAnswer(Self.list) } catch {
                session.end(CloseMessage(.protocolBroken, "\(error)"))
            }
        case .wanted(let documents):
            provideMatches(documents, &session)
        case .roomToSend: provideMatches(.all, &session)
        case .sought(let message):
            if message.hops > 0 { session.offer(Offer(id: message.id, length: 600_000)) }
        case .offered(let message):
            guard session.fetchRoom > 0 else { break }
            session.fetch(AttachmentPart(id: message.id, .hashes, message.length % 3))
        case .fetched(let part, let bytes):
            if bytes == nil { session.seek(Seek(id: part.id, hops: 0)) }
        case .presence(let message):
            session.takePresence()
            if message.records.count > 1 { session.sendPresence(message) }
        case .send, .end, .greeted, .acknowledged, .presenceAcknowledged, .quarantine, .lostWrite,
            .changedSite, .pauses, .refused, .differing, .wantedRanges:
            break
        }
    }

    private func provideMatches(_ documents: Want.Documents, _ session: inout SyncSession) {
        var rest = 8
        switch documents {
        case .all, .versions, .ranges: break
        case .some(let addresses, _), .part(let addresses): rest = min(addresses.count, 8)
        }
        defer { if documents.isPart { session.endPart(7) } }
        while rest > 0, session.hasRoom() {
            rest -= 1
            session.beginCommit(7, stamp: nil)
            let (id, document): ([UInt8], [UInt8]) = ([64, 1], [1, 2, 3, 4])
            id.withUnsafeBytes { id in
                document.withUnsafeBytes { session.add("c", id: id, .state, $0) }
            }
            session.endCommit(isContinued: rest > 0 || documents.isPart)
        }
        session.sendSegment()
    }
}
