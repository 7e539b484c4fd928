import SheafCompletion
import SheafDocument
import SheafQuery

/// The answer of `POST /complete`: the words that complete a statement.
struct CompletionAnswer {
    /// Maximum number of words.
    private static let maximumCount = 100

    private let before: String
    private let after: String

    /// Reads the body of a request.
    init(_ body: [UInt8]) throws(ErrorAnswer) {
        let fields = try RequestFields(body, names: ["before", "after"])
        (before, after) = (try fields.text("before"), try fields.text("after"))
        guard before.utf8.count + after.utf8.count <= QueryLimits.maximumLength else {
            throw ErrorAnswer(
                400, "the statement has more than \(QueryLimits.maximumLength) bytes")
        }
    }

    /// Returns the words as JSON.
    func words(
        _ completion: StatementCompletion, _ subject: InspectedStore
    ) throws(ErrorAnswer) -> [UInt8] {
        try subject.refresh()
        let answer = completion.answer(before, after, in: subject.store)
        let words = answer.candidates.prefix(Self.maximumCount).map { Value.string($0.text) }
        return JSONBytes.of(["prefix": .string(answer.prefix), "words": .array(words)])
    }
}
