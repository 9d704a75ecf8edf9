import Worker

/// The program `weir-postbacks`.
@main
enum WeirPostbacks {
    static func main() {
        PostbacksWorker.start()
    }
}
