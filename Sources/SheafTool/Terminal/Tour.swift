/// The first tasks of a newcomer, one line of a shell each.
enum Tour {
    struct Task {
        let title: String
        /// The command line, for `/bin/sh`.
        let line: String
        /// Whether the line runs until Ctrl-C.
        var isEndless = false
    }

    /// The line that creates the file of the first task.
    static let preparation =
        #"printf '_id,color,miles\na,blue,3000\nb,red,10\nc,blue,9000\n' > cars.csv"#

    /// A line that writes while an endless one runs.
    static let commit =
        #"sheaf query cars.sheaf "UPDATE cars SET miles = miles + 1 WHERE _id = 'a'""#

    static let tasks = [
        Task(
            title: "create a store from a CSV file", line: "sheaf import cars.sheaf cars cars.csv"),
        Task(
            title: "list the collections", line: #"sheaf cars.sheaf -c ".collections""#),
        Task(
            title: "list the fields and the indexes",
            line: #"sheaf cars.sheaf -c ".fields cars" -c ".indexes""#),
        Task(
            title: "find documents",
            line: #"sheaf query cars.sheaf "SELECT * FROM cars WHERE color = 'blue'""#),
        Task(
            title: "group them",
            line: #"sheaf query cars.sheaf "SELECT color, avg(miles) FROM cars GROUP BY color""#),
        Task(
            title: "show the plan",
            line: #"sheaf query cars.sheaf "SELECT * FROM cars WHERE color = 'blue'" --explain"#),
        Task(
            title: "follow changes", line: #"sheaf watch cars.sheaf "SELECT * FROM cars""#,
            isEndless: true),
        Task(title: "back up", line: "sheaf backup cars.sheaf backup.sheaf"),
        Task(
            title: "compare two stores", line: "sheaf diff backup.sheaf cars.sheaf"),
        Task(
            title: "follow the log into jq",
            line: "sheaf log cars.sheaf --follow --json | jq -c '[.commit, .operations]'",
            isEndless: true),
    ]

    /// The text of `sheaf help tour`.
    static var text: String {
        var lines = [
            "Ten tasks, one line each, for a file that this line creates:", "", "  \(preparation)",
            "",
        ]
        for (number, task) in tasks.enumerated() {
            lines.append("\(number + 1). \(task.title)" + (task.isEndless ? ", until Ctrl-C" : ""))
            lines.append("  \(task.line)")
        }
        lines += [
            "",
            "Any process may write to the store meanwhile. A commit for tasks 7 and 10, from another",
            "terminal:", "", "  \(commit)", "", "'sheaf help COMMAND' describes each command.",
        ]
        return lines.joined(separator: "\n")
    }
}
