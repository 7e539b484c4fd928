/// The text that a terminal shows, computed from the output of a program.
///
/// It has a width, but no height: rows that a terminal would scroll away are kept. It knows the
/// sequences that libedit writes for the terminal `xterm`.
struct TerminalScreen {
    private(set) var rows: [[Character]] = [[]]
    private(set) var row = 0
    private(set) var column = 0
    private let width: Int
    /// Whether the last character filled a row; the next one begins another.
    private var isWrapPending = false

    init(_ output: String, width: Int) {
        self.width = width
        var characters = Array(output.unicodeScalars)[...]
        while let scalar = characters.popFirst() {
            switch scalar {
            case "\u{1B}": interpretEscape(&characters)
            case "\r": move(to: 0)
            case "\n":
                row += 1
                fill()
                isWrapPending = false
                // The terminal adds a carriage return; the output has line feeds alone.
                column = 0
            case "\u{8}": move(to: column - 1)
            case "\t": move(to: min(width - 1, (column / 8 + 1) * 8))
            case "\u{0}"..<"\u{20}": break
            default: put(Character(scalar))
            }
        }
    }

    /// The rows without spaces at their ends.
    var lines: [String] {
        rows.map { row in
            var text = String(row)
            while text.last == " " { text.removeLast() }
            return text
        }
    }

    /// The row of the cursor, up to the cursor.
    var typedLine: String { String(rows[row].prefix(column)) }

    private mutating func move(to newColumn: Int) {
        column = min(max(newColumn, 0), width - 1)
        isWrapPending = false
    }

    private mutating func fill() {
        while rows.count <= row { rows.append([]) }
        while rows[row].count < column { rows[row].append(" ") }
    }

    private mutating func put(_ character: Character) {
        if isWrapPending {
            (row, column, isWrapPending) = (row + 1, 0, false)
        }
        fill()
        if column < rows[row].count {
            rows[row][column] = character
        } else {
            rows[row].append(character)
        }
        if column == width - 1 { isWrapPending = true } else { column += 1 }
    }

    private mutating func interpretEscape(_ rest: inout ArraySlice<Unicode.Scalar>) {
        guard rest.first == "[" else {
            // The other sequences have one more character, or two for character sets.
            if rest.popFirst() == "(" { rest.removeFirst() }
            return
        }
        rest.removeFirst()
        var digits = ""
        while let scalar = rest.popFirst() {
            guard ("@"..."~").contains(scalar) else {
                digits.unicodeScalars.append(scalar)
                continue
            }
            interpret(scalar, digits)
            return
        }
    }

    private mutating func interpret(_ letter: Unicode.Scalar, _ digits: String) {
        let number = Int(digits)
        let count = max(number ?? 1, 1)
        switch letter {
        case "A": row = max(0, row - count)
        case "B": row += count
        case "C": move(to: column + count)
        case "D": move(to: column - count)
        case "G": move(to: count - 1)
        case "H": (row, column) = (rows.count - 1, 0)
        case "J":
            fill()
            if number == 2 {
                rows = [[]]; row = 0
            } else {
                rows[row] = Array(rows[row].prefix(column))
                rows.removeSubrange((row + 1)...)
            }
        case "K":
            fill()
            rows[row] = Array(rows[row].prefix(column))
        case "P":
            fill()
            rows[row].removeSubrange(column..<min(rows[row].count, column + count))
        case "@":
            fill()
            rows[row].insert(contentsOf: repeatElement(" ", count: count), at: column)
        default: break
        }
        fill()
    }
}
