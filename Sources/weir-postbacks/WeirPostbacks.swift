import Engine
import Streams

@main
enum WeirPostbacks {
    static func main() {
        StreamWorker<PostbacksFold>.start()
    }
}
