import SheafDocument

/// A running or finished statement, as the request log shows it.
package struct Request: Sendable {
    package let number: UInt64
    package let text: String
    let startMilliseconds: UInt64
    let startNanoseconds: UInt64
    var nanoseconds: UInt64 = 0
    var resultCount = 0
    var error: String?

    /// Maximum length of the recorded text in bytes; longer texts are cut.
    package static let maximumTextLength = 4_096

    package init(number: UInt64, text: String, startMilliseconds: UInt64, startNanoseconds: UInt64)
    {
        self.number = number
        self.startMilliseconds = startMilliseconds
        self.startNanoseconds = startNanoseconds
        self.text =
            text.utf8.count <= Self.maximumTextLength
            ? text : String(decoding: text.utf8.prefix(Self.maximumTextLength), as: UTF8.self)
    }

    /// Returns the request as a row of a system collection.
    func row(state: String) -> Object {
        var row: Object = [
            "_id": .integer(Int64(clamping: number)), "text": .string(text),
            "state": .string(state), "startTime": .integer(Int64(clamping: startMilliseconds)),
            "elapsedNanoseconds": .integer(Int64(clamping: nanoseconds)),
            "resultCount": .integer(Int64(clamping: resultCount)),
        ]
        if let error { row["error"] = .string(error) }
        return row
    }
}

/// A ring buffer of the statements that finished last.
struct RequestHistory: Sendable {
    private var requests: [Request] = []
    /// The index of the oldest request; zero until the buffer is full.
    private var first = 0

    /// Appends a request, retaining at most `count` in total.
    mutating func append(_ request: consuming Request, keeping count: Int) {
        if requests.count != count, first > 0 || requests.count > count {
            requests = last(max(count - 1, 0))
            first = 0
        }
        guard requests.count == count else {
            requests.append(request)
            return
        }
        guard count > 0 else { return }
        requests[first] = request
        first = first + 1 == count ? 0 : first + 1
    }

    /// Returns the last `count` requests, the oldest first.
    func last(_ count: Int) -> [Request] {
        Array((requests[first...] + requests[..<first]).suffix(count))
    }
}
