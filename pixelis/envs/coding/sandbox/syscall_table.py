"""Numbers of the system calls a candidate may make: ``name:x86_64:aarch64``, ``-`` where there is none.

From the kernel's asm/unistd_64.h and asm-generic/unistd.h. Not here, so refused: fork, vfork, execve, socket,
connect, bind, ptrace, mount, unshare, setns, bpf, io_uring, process_vm_*, pidfd_*, keyctl, setxattr, chown,
SysV IPC.
"""

from __future__ import annotations

_ALLOWED = """
read:0:63 write:1:64 readv:19:65 writev:20:66 pread64:17:67 pwrite64:18:68 preadv:295:69 pwritev:296:70
preadv2:327:286 pwritev2:328:287 close:3:57 close_range:436:436 fstat:5:80 stat:4:- lstat:6:-
newfstatat:262:79 statx:332:291 lseek:8:62 open:2:- openat:257:56 creat:85:- access:21:- faccessat:269:48
faccessat2:439:439 readlink:89:- readlinkat:267:78 getdents:78:- getdents64:217:61 getcwd:79:17 chdir:80:49
fchdir:81:50 rename:82:- renameat:264:38 renameat2:316:276 mkdir:83:- mkdirat:258:34 rmdir:84:- unlink:87:-
unlinkat:263:35 symlink:88:- symlinkat:266:36 link:86:- linkat:265:37 umask:95:166 truncate:76:45
ftruncate:77:46 fallocate:285:47 fadvise64:221:223 fsync:74:82 fdatasync:75:83 flock:73:32 statfs:137:43
fstatfs:138:44 sendfile:40:71 copy_file_range:326:285 getxattr:191:8 lgetxattr:192:9 fgetxattr:193:10
listxattr:194:11 llistxattr:195:12 flistxattr:196:13 mmap:9:222 mprotect:10:226 munmap:11:215 mremap:25:216
brk:12:214 madvise:28:233 msync:26:227 mincore:27:232 membarrier:324:283 rt_sigaction:13:134
rt_sigprocmask:14:135 rt_sigreturn:15:139 rt_sigpending:127:136 rt_sigsuspend:130:133
rt_sigtimedwait:128:137 sigaltstack:131:132 restart_syscall:219:128 pause:34:- alarm:37:- getitimer:36:102
setitimer:38:103 timerfd_create:283:85 timerfd_settime:286:86 timerfd_gettime:287:87 nanosleep:35:101
clock_nanosleep:230:115 clock_gettime:228:113 clock_getres:229:114 gettimeofday:96:169 time:201:-
times:100:153 getrusage:98:165 sysinfo:99:179 uname:63:160 getcpu:309:168 poll:7:- ppoll:271:73 select:23:-
pselect6:270:72 epoll_create:213:- epoll_create1:291:20 epoll_ctl:233:21 epoll_wait:232:-
epoll_pwait:281:22 epoll_pwait2:441:441 eventfd:284:- eventfd2:290:19 pipe:22:- pipe2:293:59 dup:32:23
dup2:33:- dup3:292:24 sendto:44:206 recvfrom:45:207 sendmsg:46:211 recvmsg:47:212 shutdown:48:210
getsockopt:55:209 getsockname:51:204 getpeername:52:205 futex:202:98 futex_waitv:449:449
set_robust_list:273:99 rseq:334:293 set_tid_address:218:96 exit:60:93 exit_group:231:94 arch_prctl:158:-
sched_yield:24:124 sched_getaffinity:204:123 wait4:61:260 waitid:247:95 getpid:39:172 gettid:186:178
getppid:110:173 getpgrp:111:- getpgid:121:155 getsid:124:156 getuid:102:174 geteuid:107:175 getgid:104:176
getegid:108:177 getresuid:118:148 getresgid:120:150 getgroups:115:158 getpriority:140:141 getrlimit:97:163
setrlimit:160:164 getrandom:318:278
"""

# Allowed by their arguments, or answered without being made: see seccomp.py.
_CHECKED = """
chmod:90:- fchmod:91:52 fchmodat:268:53 utimensat:280:88 utimes:235:- clone:56:220 clone3:435:435
fcntl:72:25 ioctl:16:29 prctl:157:167 prlimit64:302:261 kill:62:129 tgkill:234:131 socketpair:53:199
utime:132:- futimesat:261:- fchmodat2:452:452
"""


def allowed(machine: str) -> frozenset[int]:
    """Return the numbers that are allowed whatever their arguments."""
    return frozenset(_numbers(_ALLOWED, machine).values())


def checked(machine: str) -> dict[str, int]:
    """Return name and number of the calls whose arguments decide."""
    return _numbers(_CHECKED, machine)


def _numbers(table: str, machine: str) -> dict[str, int]:
    column = ("x86_64", "aarch64").index(machine) + 1
    rows = [row.split(":") for row in table.split()]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}
