/// JSON values written one by one, each on its line: the elements of one array, or JSON lines.
struct JSONPrinter {
    private let output: Output
    private let isArray: Bool
    /// The last element, which is written when it is known whether another one follows.
    private var last: String?

    /// Creates the printer of the mode `json`, which is one array, or `jsonl`.
    init(_ mode: ResultMode, _ output: Output) {
        self.output = output
        isArray = mode == .json
    }

    /// Adds a value, as JSON on one line.
    mutating func add(_ value: String) {
        guard isArray else { return output.write(value) }
        if let last { output.write(last + ",") }
        last = (last == nil ? "[" : " ") + value
    }

    /// Ends the array; an empty one is `[]`.
    func close() {
        if isArray { output.write((last ?? "[") + "]") }
    }
}
