/// The widths of the columns of a table, in terminal cells.
struct ColumnLayout: Equatable {
    /// The widths of the columns that are shown: the first ones.
    private(set) var widths: [Int]
    /// Number of columns that are not shown, because the terminal is too narrow.
    private(set) var hiddenCount = 0

    /// Width below which a column is hidden rather than narrowed, unless its values need less.
    static let minimumWidth = 6

    /// Creates the layout of columns whose values need these widths.
    ///
    /// `available` is the width of the terminal; nil shows all columns as wide as they need.
    /// `border` is the width of both margins together, and `gap` that between two columns.
    init(_ natural: [Int], available: Int?, border: Int, gap: Int) {
        widths = natural
        guard let available else { return }
        let room = max(1, available - border)
        if !Self.fits(natural.map { min($0, Self.minimumWidth) }, room, gap) {
            hide(natural, room, gap)
        }
        // The column of the ellipsis has one cell.
        let reserved = hiddenCount > 0 && !widths.isEmpty ? gap + 1 : 0
        narrow(to: max(1, room - reserved - gap * max(0, widths.count - 1)))
    }

    private static func fits(_ widths: [Int], _ room: Int, _ gap: Int) -> Bool {
        widths.reduce(0, +) + gap * max(0, widths.count - 1) <= room
    }

    /// Hides the last columns; at least one is shown, however narrow.
    private mutating func hide(_ natural: [Int], _ room: Int, _ gap: Int) {
        var shown = 0
        var used = gap + 1
        for width in natural {
            used += min(width, Self.minimumWidth) + (shown > 0 ? gap : 0)
            guard used <= room else { break }
            shown += 1
        }
        shown = max(1, shown)
        widths = Array(natural.prefix(shown))
        hiddenCount = natural.count - shown
    }

    /// Reduces the widest columns until all of them together have this width.
    private mutating func narrow(to room: Int) {
        guard widths.reduce(0, +) > room else { return }
        // The largest bound for which the columns fit; narrower columns keep their width.
        var bound = 0
        var (rest, count) = (room, widths.count)
        for width in widths.sorted() {
            bound = rest / count
            guard width <= bound else { break }
            rest -= width
            count -= 1
        }
        var spare = count > 0 ? rest - bound * count : 0
        for (index, width) in widths.enumerated() where width > bound {
            // The remainder of the division goes to the first of them, one cell each.
            widths[index] = max(1, bound) + (spare > 0 ? 1 : 0)
            spare -= 1
        }
    }
}
