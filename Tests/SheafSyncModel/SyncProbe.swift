import SheafBytes
import SheafDocument
import SheafSync

/// A decoder of untrusted bytes that checks whether messages re-encode identically.
package enum SyncProbe {
    /// Decodes an input; returns a description of the defect found, or nil.
    ///
    /// The first byte is the frame type of the body that follows. `credit` selects the frames of a
    /// session, the remaining types without a message select commits, and other values a byte
    /// stream.
    package static func read(_ input: UnsafeRawBufferPointer) -> String? {
        guard let first = input.first else { return nil }
        let rest = UnsafeRawBufferPointer(rebasing: input.dropFirst())
        return refusing { () throws -> String? in
            switch FrameType(rawValue: first) {
            case nil: return try readFrames(rest, pieces: Int(first))
            case .hello: return try readHello(rest)
            case .close: return try readCloseMessage(rest)
            case .segment: return try readSegments(rest)
            case .ask: return try readQuestion(rest)
            case .answer: return try readAnswers(rest)
            case .subscribe: return rewritten(rest, try SubscribePart(decoding: rest).bytes)
            case .acknowledge: return rewritten(rest, try Acknowledge(decoding: rest).bytes)
            case .want: return rewritten(rest, try Want(decoding: rest).bytes)
            case .lostWrite: return rewritten(rest, try LostWrite(decoding: rest).bytes)
            case .site: return rewritten(rest, try NewSite(decoding: rest).bytes)
            case .pauses: return rewritten(rest, try SitePauses(decoding: rest).bytes)
            case .refused: return rewritten(rest, try RefusedNotice(decoding: rest).bytes)
            case .quarantine: return rewritten(rest, try QuarantineNotice(decoding: rest).bytes)
            case .announce: return rewritten(rest, try Announce(decoding: rest).bytes)
            case .seek: return rewritten(rest, try Seek(decoding: rest).bytes)
            case .offer: return rewritten(rest, try Offer(decoding: rest).bytes)
            case .fetch, .lacking:
                return rewritten(rest, try AttachmentPart(decoding: rest).bytes)
            case .part: return rewritten(rest, try AttachmentBytes(decoding: rest).bytes)
            case .askProof, .proven: return rewritten(rest, try TokenAddress(decoding: rest).bytes)
            case .presence: return rewritten(rest, try PresenceMessage(decoding: rest).bytes)
            case .credit: return try readSession(rest)
            case .restart, .announceOnly, .ping, .pong, .presenceAcknowledged, .historyDropped:
                return try readCommits(rest)
            }
        }
    }

    /// Runs `body`, where a typed decoding error counts as success if it has a description.
    static func refusing(_ body: () throws -> String?) -> String? {
        do {
            return try body()
        } catch let error as Malformed {
            return error.description.isEmpty ? "an error has no description" : nil
        } catch let error as WireError {
            return error.description.isEmpty ? "an error has no description" : nil
        } catch {
            return "an error of unexpected type: \(error)"
        }
    }

    private static func readFrames(_ bytes: UnsafeRawBufferPointer, pieces: Int) throws -> String? {
        var reader = FrameReader(limit: 1_024)
        var writer = FrameWriter()
        var (start, written): (Int, [UInt8]) = (0, [])
        while start < bytes.count {
            let end = min(start + max(pieces - 11, 1), bytes.count)
            reader.append(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
            start = end
            while let frame = try reader.next() { written += writer.bytes(of: frame) }
            if reader.waitingLength > 1_024 + 8 { return "the reader buffers more than one frame" }
        }
        return bytes.starts(with: written) ? nil : "frames change when re-encoded"
    }

    private static func rewritten(_ bytes: UnsafeRawBufferPointer, _ written: [UInt8]) -> String? {
        bytes.elementsEqual(written) ? nil : "a message changes when re-encoded"
    }

    private static func readHello(_ bytes: UnsafeRawBufferPointer) throws -> String? {
        let decoded = try Hello(decoding: bytes)
        return bytes.elementsEqual(decoded.bytes) ? nil : "a hello changes when re-encoded"
    }

    private static func readCloseMessage(_ bytes: UnsafeRawBufferPointer) throws -> String? {
        let decoded = try CloseMessage(decoding: bytes)
        return bytes.elementsEqual(decoded.bytes) ? nil : "a close message changes when re-encoded"
    }

    /// Decodes length-prefixed segments and the commits in them.
    private static func readSegments(_ bytes: UnsafeRawBufferPointer) throws -> String? {
        var reader = ByteReader(bytes)
        var (segments, writer, again) = (
            ShippedSegmentReader(), ShippedSegmentWriter(), ShippedSegmentReader()
        )
        var room = 1 << 20
        var names = NameTable()
        while reader.remaining > 0 {
            let raw = try segments.raw(of: try reader.readLengthPrefixed(limit: 1 << 16))
            let written = writer.bytes(of: raw)
            let expanded = try written.withUnsafeBytes { try again.raw(of: $0) }
            if expanded != raw { return "a segment changes when re-encoded" }
            room -= raw.count
            if room < 0 { return nil }
            _ = try raw.withUnsafeBytes { try WireNameDictionary.commits(in: $0, &names) }
        }
        return nil
    }

    private static func readCommits(_ bytes: UnsafeRawBufferPointer) throws -> String? {
        var names = NameTable()
        let commits = try WireNameDictionary.commits(in: bytes, &names)
        var (head, writer) = (ByteWriter(), CommitWriter())
        WireNameDictionary.write(
            (0..<names.count).map { Array((names.name($0) ?? "").utf8) }, into: &head)
        for commit in commits { commit.write(into: &writer) }
        var others = NameTable()
        let again = try (head.bytes + writer.bytes).withUnsafeBytes {
            try WireNameDictionary.commits(in: $0, &others)
        }
        guard names == others else { return "names change when re-encoded" }
        return again == commits ? nil : "commits change when re-encoded"
    }

    private static func readQuestion(_ bytes: UnsafeRawBufferPointer) throws -> String? {
        let question = try RangeQuestion(decoding: bytes)
        guard bytes.elementsEqual(question.bytes) else { return "a request re-encodes differently" }
        var responder = RangeResponder(list)
        _ = try responder.answer(RangeQuestion([]))
        _ = try responder.answer(RangeQuestion([0]))
        let answer = try responder.answer(question)
        guard case .sketch(let sketch)? = answer.parts.first else { return nil }
        // The whole list is in a sketch of all its ranges, if that has enough cells.
        guard let found = sketch.decode() else { return nil }
        let known = Set(documents.map(\.version))
        return found.missing.isEmpty && found.added.allSatisfy(known.contains)
            ? nil : "a sketch has unknown versions"
    }

    /// Passes length-prefixed range responses to a requester.
    private static func readAnswers(_ bytes: UnsafeRawBufferPointer) throws -> String? {
        var reader = ByteReader(bytes)
        var requester = RangeRequester(list)
        while reader.remaining > 0 {
            let answer = try RangeAnswer(decoding: try reader.readLengthPrefixed(limit: 1 << 16))
            let again = try answer.bytes.withUnsafeBytes { try RangeAnswer(decoding: $0) }
            if again != answer { return "a range response changes when re-encoded" }
            guard case .done(let difference) = try requester.process(answer) else { continue }
            let own = Set(documents.map(\.id))
            return difference.own.allSatisfy(own.contains) ? nil : "an unknown document differs"
        }
        return nil
    }

    private static let documents = (0..<100).map {
        DocumentVersion(id: [0x40, UInt8($0 + 100)], version: UInt64($0))
    }
    private static let list = VersionList(sorted: documents)
}
