import SheafAttachments
import SheafBytes
import SheafDocument
import SheafStorage
import SheafSync

/// A peer that offers files, and sends wrong data or none.
final class FaultyPeer {
    enum Fault {
        case hashes
        /// A wrong length, with the correct hashes of the file.
        case length
        case chunks
        /// Correct hashes, and a lacking message for each chunk.
        case noChunks
        /// Correct hashes, and no response to requests for chunks.
        case noChunkAnswers
        /// No response to any request.
        case silence
    }

    private let files: [AttachmentID: SampleFile]
    private let fault: Fault
    let key: [UInt8]
    private var session: SyncSession
    /// The requested parts, in order.
    private(set) var requested: [AttachmentPart] = []

    convenience init(_ file: SampleFile, _ fault: Fault, number: UInt16 = 99) {
        self.init([file], fault, number: number)
    }

    init(_ files: [SampleFile], _ fault: Fault, number: UInt16 = 99) {
        self.files = Dictionary(uniqueKeysWithValues: files.map { ($0.id, $0) })
        self.fault = fault
        key = Hello.unknownPeer(number).peerKey
        session = .unknownPeer(number, at: 0)
    }

    func begin(at now: UInt64) -> [[UInt8]] { answers(at: now) }

    func receive(_ bytes: [UInt8], at now: UInt64) -> [[UInt8]] {
        bytes.withUnsafeBytes { session.receive($0, at: now) }
        return answers(at: now)
    }

    private func answers(at now: UInt64) -> [[UInt8]] {
        var sent = takeSent()
        if fault != .silence {
            while let part = session.nextServed {
                requested.append(part)
                if part.kind == .chunk, fault == .noChunkAnswers { break }
                session.serve(bytes(of: part))
            }
        }
        sent += takeSent()
        return sent
    }

    private func takeSent() -> [[UInt8]] {
        var sent: [[UInt8]] = []
        while let effect = session.nextEffect() {
            switch effect {
            case .send(let bytes): sent.append(bytes)
            case .sought(let message) where message.hops > 0:
                guard let file = file(message.id) else { break }
                let length = file.bytes.count - (fault == .length ? 1 : 0)
                session.offer(Offer(id: message.id, length: length))
            default: break
            }
        }
        return sent
    }

    private func file(_ id: [UInt8]) -> SampleFile? {
        AttachmentID(bytes: id).flatMap { files[$0] }
    }

    private func bytes(of part: AttachmentPart) -> [UInt8]? {
        guard let file = file(part.id), part.kind == .hashes || fault != .noChunks else {
            return nil
        }
        var bytes =
            part.kind == .hashes ? file.list.hashes : file.chunk(part.number)
        if (part.kind == .hashes) == (fault == .hashes) { bytes[bytes.count / 2] ^= 1 }
        return bytes
    }
}

extension Hello {
    /// Returns the hello of a peer without a replicator; `number` determines its key and site.
    static func unknownPeer(_ number: UInt16) -> Hello {
        let database = Hello.DatabaseID(low: 1, high: 2)
        let key = [UInt8(number >> 8)] + Array(repeating: UInt8(number & 255), count: 31)
        return Hello(
            database: database, peerKey: key, site: Site(rawValue: UInt64(number)), log: database,
            nonce: 1, wallMilliseconds: 1, isServer: false, name: "")
    }
}

extension SyncSession {
    /// Returns the session of a peer without a replicator.
    static func unknownPeer(_ number: UInt16, at now: UInt64) -> SyncSession {
        SyncSession(.unknownPeer(number), at: now)
    }
}
