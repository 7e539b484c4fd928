/// A message of multicast DNS (RFC 6762, section 18): a query or a response.
package struct DNSMessage: Hashable, Sendable {
    /// Maximum number of bytes of a received message (RFC 6762, section 17).
    package static let maximumLength = 9_000
    /// Maximum numbers of questions, and of records in each part.
    static let (maximumQuestions, maximumRecords) = (64, 256)

    /// Zero, except in queries of simple resolvers, whose responses repeat it.
    package var id: UInt16 = 0
    package var isResponse = false
    /// Whether further known answers follow in another message.
    package var isTruncated = false
    package var questions: [DNSQuestion] = []
    /// In a query: the answers that the asking host knows already.
    package var answers: [DNSRecord] = []
    /// In a query: the records that the asking host is about to announce.
    package var proposals: [DNSRecord] = []
    package var additions: [DNSRecord] = []

    package init() {}
}

extension DNSMessage {
    /// Reads a message; returns nil for kinds of messages that multicast DNS does not use.
    ///
    /// Records and questions of other classes are omitted.
    package init?(_ bytes: UnsafeRawBufferPointer) throws(DNSReader.Failure) {
        guard bytes.count <= Self.maximumLength else { throw DNSReader.Failure() }
        var reader = DNSReader(bytes)
        id = try reader.integer()
        let flags = try reader.integer()
        // The operation must be a query, and the response code zero (sections 18.3 and 18.11).
        guard flags & 0x780F == 0 else { return nil }
        isResponse = flags & 0x8000 != 0
        isTruncated = flags & 0x0200 != 0
        let questionCount = try reader.integer()
        let counts = (try reader.integer(), try reader.integer(), try reader.integer())
        guard Int(questionCount) <= Self.maximumQuestions else { throw DNSReader.Failure() }
        for _ in 0..<questionCount {
            if let question = try reader.question() { questions.append(question) }
        }
        answers = try reader.records(counts.0)
        proposals = try reader.records(counts.1)
        additions = try reader.records(counts.2)
    }

    /// The bytes of the message.
    package var bytes: [UInt8] {
        var writer = DNSWriter()
        writer.write(id)
        // A response is authoritative (section 18.4).
        writer.write((isResponse ? 0x8400 : 0) | (isTruncated ? 0x0200 : 0))
        let counts = [questions.count, answers.count, proposals.count, additions.count]
        for count in counts { writer.write(UInt16(clamping: count)) }
        for question in questions { writer.write(question) }
        for record in answers + proposals + additions { writer.write(record) }
        return writer.bytes
    }
}
