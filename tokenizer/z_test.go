package tokenizer
import ("testing";"time";"syscall";"runtime")
func TestZ(t *testing.T){
 cpu:=func() time.Duration { var u syscall.Rusage; syscall.Getrusage(0,&u); return time.Duration(u.Utime.Nano()+u.Stime.Nano()) }
 for _,n:=range []string{"kimi-k2.5","qwen3","gptoss"} {
 bw,bc:=time.Hour,time.Hour
 var keep *Tokenizer
 for range 12 { keep=nil; runtime.GC(); c:=cpu(); w:=time.Now(); keep,_=Load("/work/shared/models/"+n); bw=min(bw,time.Since(w)); bc=min(bc,cpu()-c) }
 runtime.GC(); var ms runtime.MemStats; runtime.ReadMemStats(&ms)
 t.Log(n,bw,bc, ms.HeapAlloc>>20,"MB live"); runtime.KeepAlive(keep) }
}
